// RUN: inarch-opt %s --load %S/Inputs/toy.py --split-input-file --verify-diagnostics -p 'annotate{backends=toy}'
// RUN: not inarch-opt %s --load %S/Inputs/toy.py -p 'annotate{backends=toi}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not inarch-opt %s --load %S/Inputs/toy.py -p 'annotate{backends=c}' 2>&1 | filecheck %s --check-prefix=HOST

// UNKNOWN: error: no backend 'toi'; did you mean 'toy'? Known: {{.*}} toy; add one as backends/<name>.py or with --load FILE.py
// HOST: error: no backend 'c'. Known: {{.*}} toy;

func.func @given(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'graph.tanh' is given to backend 'toy', which cannot take it: no pattern or op list has graph.tanh}}
  %a = graph.tanh %x {partition.give = "toy"} : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

func.func @given_and_kept(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'graph.tanh' is given to backend 'toy' and kept from it; do one}}
  %a = graph.tanh %x {partition.give = "toy", partition.keep = ["toy"]} : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

func.func @nobody(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error-re @below {{no backend 'tox'; did you mean 'toy'? Known: {{.*}}; add one as backends/<name>.py or with --load FILE.py}}
  %a = graph.tanh %x {partition.give = "tox"} : tensor<4xf32> -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}

// -----

// expected-error-re @below {{no backend 'removed'. Known: {{.*}}; add one as backends/<name>.py or with --load FILE.py}}
func.func private @removed_0(%x: tensor<4xf32>) -> tensor<4xf32> attributes {compiler = "removed"} {
  func.return %x : tensor<4xf32>
}
