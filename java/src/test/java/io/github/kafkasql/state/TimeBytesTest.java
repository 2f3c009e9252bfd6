package io.github.kafkasql.state;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TimeBytesTest {
    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0, 1, Long.MAX_VALUE})
    void returnsTheTimeThatWasWritten(long time) {
        assertEquals(time, TimeBytes.read(TimeBytes.write(time)));
        assertEquals(time, TimeBytes.read(TimeBytes.write(time, 7)));
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0, Long.MAX_VALUE - 1})
    void bytesAreInTheOrderOfTimes(long time) {
        assertTrue(Arrays.compareUnsigned(TimeBytes.write(time), TimeBytes.write(time + 1)) < 0);
    }
}
