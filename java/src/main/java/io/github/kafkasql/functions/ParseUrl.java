package io.github.kafkasql.functions;

import java.net.MalformedURLException;
import java.net.URL;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code parse_url(url, part)}: a part of a URL. */
public final class ParseUrl extends FlinkFunction {
    // those of Java; in Spark's JVM, Hadoop adds others
    private static final Set<String> PROTOCOLS =
        Set.of("http", "https", "ftp", "file", "jar", "mailto", "jrt", "jmod");
    private static final Memo<Pattern> KEYS =
        new Memo<>(key -> Pattern.compile("(?:&|^)" + Pattern.quote(key.toString()) + "=([^&]*)"));

    /** {@code parse_url_key(url, part, key)}: the value of a key in the part QUERY; null for other parts. */
    public static final class ParseUrlKey extends FlinkFunction {
        public static UTF8String invoke(UTF8String text, UTF8String part, UTF8String key) {
            UTF8String query = ParseUrl.invoke(text, part);
            if (query == null || key == null || !part.toString().equals("QUERY")) return null;
            Matcher matcher = KEYS.get(key).matcher(query.toString());
            return matcher.find() ? UTF8String.fromString(matcher.group(1)) : null;
        }
    }

    public static UTF8String invoke(UTF8String text, UTF8String part) {
        if (text == null || part == null) return null;
        URL url;
        try {
            url = new URL(text.toString());
        } catch (MalformedURLException e) {
            return null;
        }
        if (!PROTOCOLS.contains(url.getProtocol())) return null;
        return UTF8String.fromString(part(url, part.toString()));
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
