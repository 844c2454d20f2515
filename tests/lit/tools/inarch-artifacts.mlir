// RUN: inarch compile %s -q -o %t.a.inarch --target=generic --metadata release=1
// RUN: inarch compile %s -q -o %t.b.inarch --target=generic --metadata release=2
// RUN: inarch diff %t.a.inarch %t.a.inarch
// RUN: not inarch diff %t.a.inarch %t.b.inarch | filecheck %s --check-prefix=DIFF
// RUN: not inarch diff %t.a.inarch %t.b.inarch --json | filecheck %s --check-prefix=JSON
// RUN: inarch extract %t.a.inarch %t.dir | filecheck %s --check-prefix=EXTRACT
// RUN: not inarch extract %t.a.inarch %t.dir --member wights.bin 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not inarch inspect %t.a.inarch --verify 2>&1 | filecheck %s --check-prefix=OLD

// DIFF: manifest metadata.release: 1 | 2
// DIFF-NOT: {{.}}
// JSON: "equal": false,
// JSON: "what": "manifest metadata.release",
// JSON-NEXT: "a": "1",
// JSON-NEXT: "b": "2"
// EXTRACT: inarch-artifacts.mlir.tmp.dir/manifest.json: {{[0-9]+}} bytes
// EXTRACT-NEXT: inarch-artifacts.mlir.tmp.dir/library.so: {{[0-9]+}} bytes
// EXTRACT-NEXT: inarch-artifacts.mlir.tmp.dir/weights.bin: 64 bytes
// UNKNOWN: error: no member 'wights.bin' in {{.+}}; did you mean 'weights.bin'? Known: library.so, manifest.json, {{.*}}weights.bin
// OLD: error: --verify is now --check
func.func @main(%a: tensor<2xf32> {inarch.name = "a"}) -> (tensor<2xf32> {inarch.name = "b"}) {
  %0 = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = graph.add %a, %0 : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>
  func.return %b : tensor<2xf32>
}
