package io.github.kafkasql.state;

/** What a join returns of its two sides. */
enum JoinType {
    INNER(true, false, false),
    LEFT(true, true, false),
    RIGHT(true, false, true),
    FULL(true, true, true),
    /** Rows of the left side with a match. */
    SEMI(false, false, false),
    /** Rows of the left side without a match. */
    ANTI(false, true, false),
    /** Rows of the left side, and whether they have a match. */
    EXISTENCE(false, true, false);

    final boolean returnsPairs;
    final boolean returnsUnmatchedLeft;
    final boolean returnsUnmatchedRight;

    JoinType(boolean returnsPairs, boolean returnsUnmatchedLeft, boolean returnsUnmatchedRight) {
        this.returnsPairs = returnsPairs;
        this.returnsUnmatchedLeft = returnsUnmatchedLeft;
        this.returnsUnmatchedRight = returnsUnmatchedRight;
    }

    /** Whether a row of the left side is returned once, however many matches it has. */
    boolean returnsMatchedLeft() {
        return this == SEMI || this == EXISTENCE;
    }
}
