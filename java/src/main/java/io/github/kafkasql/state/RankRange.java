package io.github.kafkasql.state;

import java.io.Serializable;
import java.util.List;

/**
 * The ranks that a {@link Ranker} returns, and how.
 *
 * @param start the first rank, from 1
 * @param end the last rank
 * @param hasRank whether the query uses the rank, so that a row whose rank changes is updated
 * @param returnsOldRows whether the old row of an update is returned
 */
record RankRange(int start, int end, boolean hasRank, boolean returnsOldRows) implements Serializable {
    /** The rows of the range among the first ones. */
    List<RankedRow> of(List<RankedRow> rows) {
        return start > rows.size() ? List.of() : List.copyOf(rows.subList(start - 1, Math.min(end, rows.size())));
    }

    /** Whether the row of a rank is replaced by another one; otherwise, rows enter and leave a set. */
    boolean isByRank() {
        return hasRank || start == end;
    }
}
