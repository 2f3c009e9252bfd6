package io.github.kafkasql;

import scala.collection.immutable.ArraySeq;
import scala.collection.immutable.Seq;

/** Creates Scala's sequences. */
public final class Seqs {
    private Seqs() {}

    @SafeVarargs
    public static <T> Seq<T> of(T... elements) {
        return ArraySeq.unsafeWrapArray(elements);
    }
}
