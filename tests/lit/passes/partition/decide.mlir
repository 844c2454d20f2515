// Backends decide of their regions, and costs do: what is left in the program, by the passes alone.
// RUN: inarch-opt %s --load %S/Inputs/halves.py --split-input-file -p "annotate{backends=halves},merge-regions" | filecheck %s
// RUN: inarch explain %s --load %S/Inputs/halves.py --backend halves --regions | filecheck %s --check-prefix=REGIONS
// RUN: inarch explain %s --load %S/Inputs/halves.py --backend halves --give neg=halves --json | filecheck %s --check-prefix=GIVEN
// RUN: inarch compile %s --load %S/Inputs/halves.py --backend halves --emit=graph | filecheck %s --check-prefix=GRAPH

// The four adds are split in two; the neg alone costs more than it does on the host.
// CHECK-LABEL: @main
// CHECK-NEXT: graph.add %x, %x {partition.backend = "halves", partition.region = 0 : i64}
// CHECK-NEXT: graph.add %0, %x {partition.backend = "halves", partition.region = 0 : i64}
// CHECK-NEXT: graph.add %1, %x {partition.backend = "halves", partition.region = 1 : i64}
// CHECK-NEXT: graph.add %2, %x {partition.backend = "halves", partition.region = 1 : i64}
// CHECK-NEXT: graph.tanh %3 : tensor
// CHECK-NEXT: graph.neg %4 : tensor
// CHECK-NEXT: graph.tanh %5 : tensor
// CHECK-NEXT: graph.mul %6, %6 {partition.backend = "halves", partition.region = 2 : i64}
// CHECK-NEXT: graph.exp %6 : tensor
// CHECK-NEXT: graph.mul %8, %8 {partition.backend = "halves", partition.region = 3 : i64}
// CHECK-NEXT: return

// REGIONS: neg {{.*}} host {{ *}}halves: its region takes 1 s here, {{.*}} on the host (estimated)
// REGIONS: region {{.*}} takes {{ *}}host  why
// REGIONS: halves_0 {{.*}} 0 us {{.*}} us  split: two adds a call
// REGIONS: halves gave up 1 op of {{.*}} (cost): its region takes 1 s here
// REGIONS: seconds of a call: estimated
// REGIONS: across boundaries: {{[0-9]+}} bytes in a call

// GIVEN: "op": "graph.neg",
// GIVEN: "owner": "halves",
// GIVEN: "seconds": 1.0,
// GIVEN: "decided": [

// GRAPH-COUNT-4: func.func private @halves_{{[0-3]}}({{.*}}compiler = "halves"
func.func @main(%x: tensor<4xf32> {inarch.name = "x"}) -> (tensor<4xf32> {inarch.name = "y"}, tensor<4xf32> {inarch.name = "z"}) {
  %0 = graph.add %x, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %1 = graph.add %0, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %2 = graph.add %1, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %3 = graph.add %2, %x : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %4 = graph.tanh %3 : tensor<4xf32> -> tensor<4xf32>
  %5 = graph.neg %4 : tensor<4xf32> -> tensor<4xf32>
  %6 = graph.tanh %5 : tensor<4xf32> -> tensor<4xf32>
  %7 = graph.mul %6, %6 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  %8 = graph.exp %6 : tensor<4xf32> -> tensor<4xf32>
  %9 = graph.mul %8, %8 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
  func.return %7, %9 : tensor<4xf32>, tensor<4xf32>
}
