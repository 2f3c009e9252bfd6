package io.github.kafkasql.extension;

import java.net.InetAddress;
import java.util.concurrent.TimeUnit;
import javax.net.SocketFactory;
import py4j.Py4JPythonClient;
import py4j.PythonClient;

/** Py4J's client for calls to Python. Unlike Py4J's own, it keeps the secret when Python announces its port. */
final class AuthenticatedClient extends PythonClient {
    private final String secret;

    AuthenticatedClient(String secret) {
        this(0, InetAddress.getLoopbackAddress(), secret);
    }

    private AuthenticatedClient(int port, InetAddress address, String secret) {
        super(null, null, port, address, 30, TimeUnit.SECONDS, SocketFactory.getDefault(), null, true, 0, secret);
        this.secret = secret;
    }

    public Py4JPythonClient copyWith(InetAddress address, int port) {
        AuthenticatedClient copy = new AuthenticatedClient(port, address, secret);
        copy.setGateway(getGateway());
        copy.setJavaServer(getJavaServer());
        return copy;
    }
}
