// Instances of backends: names and options in --backend, and what a wrong one is told.
// RUN: inarch explain %s --backend one=ccompiler:prefix=gcc --backend ccompiler --keep sub=one | filecheck %s --check-prefix=TABLE
// RUN: inarch explain %s --backend one=ccompiler --backend ccompiler --keep sub=one --regions | filecheck %s --check-prefix=REGIONS
// RUN: inarch explain %s --backend one=ccompiler --backend-option one:prefix=gcc --json | filecheck %s --check-prefix=JSON
// RUN: inarch compile %s --backend one=ccompiler:prefix=gcc,examplejson --target generic --emit=graph | filecheck %s --check-prefix=GRAPH
// RUN: inarch compile %s --backend one=ccompiler:prefix=gcc,examplejson --target generic --emit=graph | inarch-opt -t one=ccompiler | filecheck %s --check-prefix=CODE
// RUN: inarch compile %s --backend one=ccompiler:prefix=gcc --target generic --emit=one | filecheck %s --check-prefix=CODE
// RUN: not inarch explain %s --backend one=ccompiler:prefx=gcc 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not inarch compile %s --backend one=ccompiler,one=examplejson --emit=graph 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not inarch compile %s --backend one=ccompiler --give add=on --emit=graph 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not inarch explain %s --backend one=ccompiler --backend-option ccompiler:prefix=a 2>&1 | filecheck %s --check-prefix=OTHER
// RUN: not inarch explain %s --backend one= 2>&1 | filecheck %s --check-prefix=FORM

// TABLE:      add {{.*}} one{{$}}
// TABLE-NEXT: sub {{.*}} ccompiler  one: kept from backend one by hand
// TABLE-EMPTY:
// TABLE:      one (ccompiler:prefix=gcc): 1 of 2 ops, 1 region
// TABLE-NEXT: ccompiler: 1 of 2 ops, 1 region

// REGIONS:      region {{ *}}owner {{ *}}ops  bytes in  bytes out  resident
// REGIONS-NEXT: ccompiler_0  ccompiler    1        48         24         0
// REGIONS-NEXT: one_0        one          1        24         24         0
// REGIONS-NEXT: seconds of a call: estimated
// REGIONS-NEXT: across boundaries: 120 bytes in a call

// JSON:      "traffic": [
// JSON:      "bytes_across": 48
// JSON:      "instances": {
// JSON-NEXT:  "one": {
// JSON-NEXT:   "backend": "ccompiler",
// JSON-NEXT:   "options": {
// JSON-NEXT:    "prefix": "gcc"

// GRAPH: partition.instances = ["one=ccompiler:prefix=gcc"]
// GRAPH: func.func private @one_0({{.*}} attributes {compiler = "one"}

// CODE: int32_t gcc_0(

// OPTION: error: no option 'prefx' in backend 'ccompiler'; did you mean 'prefix'? Known: prefix
// TWICE: error: backend 'one' is asked for as one=ccompiler and as one=examplejson; give one of them a name of its own, such as other=examplejson
// NAME: error: no backend 'on'; did you mean 'one'? Known: {{.*}}
// OTHER: error: --backend-option: 'ccompiler' is not asked for; write --backend ccompiler
// FORM: error: backend: expected [NAME=]BACKEND[:OPTION=VALUE,...], found 'one='

func.func @main(%x: tensor<2x3xf32> {inarch.name = "x"}) -> (tensor<2x3xf32> {inarch.name = "y"}) {
  %0 = graph.add %x, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  %1 = graph.sub %0, %x : tensor<2x3xf32>, tensor<2x3xf32> -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
