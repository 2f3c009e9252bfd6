package io.github.kafkasql.formats;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.math.BigDecimal;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DecimalType;
import org.junit.jupiter.api.Test;

final class DecimalTextTest {
    private static final DecimalType TYPE = DataTypes.createDecimalType(10, 2);

    @Test
    void writesAsBigDecimal() {
        for (String text : new String[] {"0", "-0.0", "1.50", "+7e3", "1e-9", "123456.789e-4", "99e20", "-0.00000120", ".5"}) {
            BigDecimal number = new BigDecimal(text);
            String expected = number.signum() == 0 ? "0" : number.stripTrailingZeros().toString();
            assertEquals(expected, new DecimalText(text).toString(), text);
        }
    }

    @Test
    void roundsLongNumbers() {
        String zeros = "0".repeat(1000);
        assertEquals("0.13", DecimalText.toDecimal("0.125" + zeros + "1", TYPE).toString());
        assertEquals("7.00", DecimalText.toDecimal("7" + zeros + "e-1000", TYPE).toString());
        assertEquals("0.00", DecimalText.toDecimal("1e-2147483646", TYPE).toString());
        assertEquals(null, DecimalText.toDecimal("1" + zeros, TYPE));
        assertEquals("0.00", DecimalText.toDecimal("0e2147483647", TYPE).toString());
    }

    @Test
    void rejectsWhatBigDecimalRejects() {
        for (String text : new String[] {"", ".", "1e", "1e+", "e5", "1.2.3", "1e5x", "1e99999999999", "- 1", "\uD835\uDFCE"}) {
            assertThrows(NumberFormatException.class, () -> new DecimalText(text), text);
        }
    }
}
