// RUN: inarch-opt %s --allow-unregistered-dialect | filecheck %s
// RUN: not inarch-opt %s 2>&1 | filecheck %s --check-prefix=ERROR

// CHECK: "mine.op"() : () -> ()
// ERROR: opt-unregistered.mlir:{{[0-9]+:[0-9]+}}: error: Operation mine.op is not registered
"mine.op"() : () -> ()
