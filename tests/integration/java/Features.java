import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.FeatureUpdate;
import org.apache.kafka.clients.admin.UpdateFeaturesOptions;

/** {@code Features BROKER [feature=level ...]}: raises levels, then prints all that are finalized. */
public class Features {
    public static void main(String[] args) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", args[0]))) {
            for (int i = 1; i < args.length; i++) {
                String[] pair = args[i].split("=");
                FeatureUpdate to = new FeatureUpdate(Short.parseShort(pair[1]), FeatureUpdate.UpgradeType.UPGRADE);
                admin.updateFeatures(Map.of(pair[0], to), new UpdateFeaturesOptions()).all().get();
            }
            var found = new TreeMap<>(admin.describeFeatures().featureMetadata().get().finalizedFeatures());
            found.forEach((name, range) -> System.out.println(name + "=" + range.maxVersionLevel()));
            var can = new TreeMap<>(admin.describeFeatures().featureMetadata().get().supportedFeatures());
            can.forEach((name, range) -> System.err.println(name + " up to " + range.maxVersion()));
        }
    }
}
