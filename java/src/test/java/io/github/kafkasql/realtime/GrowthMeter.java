package io.github.kafkasql.realtime;

import com.sun.management.ThreadMXBean;
import io.github.kafkasql.formats.PayloadDecoder;
import java.lang.management.ManagementFactory;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Measures what a call costs: "nanoseconds of CPU time, bytes of allocated memory". */
public final class GrowthMeter {
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final UTF8String TOPIC = UTF8String.fromString("t");

    public String decode(PayloadDecoder decoder, byte[] payload) {
        long start = THREADS.getCurrentThreadCpuTime();
        long allocated = allocated();
        decoder.decode(payload, TOPIC, 0, 0L);
        return cost(start, allocated);
    }

    /** names: of the headers, separated by commas. */
    public String convertHeaders(String names) {
        String[] parts = names.split(",", -1);
        Object[] headers = new Object[parts.length];
        for (int i = 0; i < parts.length; i++) {
            headers[i] = new GenericInternalRow(new Object[] {UTF8String.fromString(parts[i]), null});
        }
        long start = THREADS.getCurrentThreadCpuTime();
        long allocated = allocated();
        new HeaderMap().convert(new GenericArrayData(headers));
        return cost(start, allocated);
    }

    private static long allocated() {
        return THREADS.getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    private static String cost(long start, long allocated) {
        return (THREADS.getCurrentThreadCpuTime() - start) + "," + (allocated() - allocated);
    }
}
