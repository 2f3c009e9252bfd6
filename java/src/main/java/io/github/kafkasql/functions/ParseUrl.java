package io.github.kafkasql.functions;

import java.net.MalformedURLException;
import java.net.URL;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code parse_url(url, part, key)}: a part of a URL, or the value of a key in its query; the key can be null. */
public final class ParseUrl extends FlinkFunction {
    // those of Java; in Spark's JVM, Hadoop adds others
    private static final Set<String> PROTOCOLS =
        Set.of("http", "https", "ftp", "file", "jar", "mailto", "jrt", "jmod");
    private static final Memo<UTF8String, Pattern> KEYS =
        new Memo<>(key -> Pattern.compile("(?:&|^)" + Pattern.quote(key.toString()) + "=([^&]*)"));

    public static UTF8String invoke(UTF8String text, UTF8String part, UTF8String key) {
        if (text == null || part == null) return null;
        URL url;
        try {
            url = new URL(text.toString());
        } catch (MalformedURLException e) {
            return null;
        }
        if (!PROTOCOLS.contains(url.getProtocol())) return null;
        String value = part(url, part.toString());
        if (key == null || value == null) return UTF8String.fromString(value);
        if (!part.toString().equals("QUERY")) return null;
        Matcher matcher = KEYS.get(key).matcher(value);
        return matcher.find() ? UTF8String.fromString(matcher.group(1)) : null;
    }

    private static String part(URL url, String name) {
        return switch (name) {
            case "HOST" -> url.getHost();
            case "PATH" -> url.getPath();
            case "QUERY" -> url.getQuery();
            case "REF" -> url.getRef();
            case "PROTOCOL" -> url.getProtocol();
            case "FILE" -> url.getFile();
            case "AUTHORITY" -> url.getAuthority();
            case "USERINFO" -> url.getUserInfo();
            default -> null;
        };
    }
}
