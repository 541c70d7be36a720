// Vector moves that need no alignment, whatever the compiler believes of an address.
//
// A vector move that demands alignment faults where the compiler is wrong about it, and GCC has been:
// before 12.4 and 13.3 a function that calls nothing and reaches an array on its stack through a
// register only forgets to align that stack (PR 109780). Memory that callers own is a matter of their
// promises. On a CPU with AVX the move that demands nothing is as long and as fast where the address is
// aligned, so the assembler is told to write that one. GCC prints such a statement before the functions
// of its unit; tests/codegen/test_alignment.py looks at the machine code.
#ifndef PTC_MOVES_H
#define PTC_MOVES_H

// Clang assembles by itself and aligns what it needs; SSE has operands in memory as well, which the
// platform's 16 bytes of stack alignment suit.
#if defined(__AVX__) && defined(__GNUC__) && !defined(__clang__)
#define PTC_MOVE_BY(ALIGNED, UNALIGNED) \
  ".macro " ALIGNED " operands:vararg\n" UNALIGNED " \\operands\n.endm\n"
// Once in what the assembler sees: with -flto that is several units.
__asm__(".ifndef .Lptc_moves\n.set .Lptc_moves, 1\n"  //
        PTC_MOVE_BY("vmovaps", "vmovups")             //
        PTC_MOVE_BY("vmovapd", "vmovupd")             //
        PTC_MOVE_BY("vmovdqa", "vmovdqu")             //
        PTC_MOVE_BY("vmovdqa32", "vmovdqu32")         //
        PTC_MOVE_BY("vmovdqa64", "vmovdqu64")         //
        ".endif");
#undef PTC_MOVE_BY
#endif

#endif
