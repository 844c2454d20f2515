// RUN: inarch-opt %s --print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: inarch-opt %s --print-debuginfo | filecheck %s --check-prefix=LOCATIONS
// RUN: not inarch-opt %s --split-input-file --write-resources %t.npz 2>&1 | filecheck %s --check-prefix=WRITE

// GENERIC: "func.func"()
// LOCATIONS: func.return loc("{{.*}}opt-options.mlir":9:3)
// WRITE: error: --write-resources writes the constants of one printed program: it goes with neither --split-input-file nor --target
func.func @f() {
  func.return
}
