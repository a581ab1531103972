package org.apache.iceberg.rest;

import java.lang.reflect.Method;
import org.eclipse.jetty.compression.gzip.GzipCompression;
import org.eclipse.jetty.compression.server.CompressionHandler;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * Apache's reference catalog on loopback: its catalog (from CATALOG_* in the environment), its adapter and
 * its servlet, as RESTCatalogServer puts them together, which itself listens on every interface. In that
 * package because the parts are private to it. Argument: the port.
 */
public final class Reference {
  private Reference() {}

  public static void main(String[] arguments) throws Exception {
    Method open = RESTCatalogServer.class.getDeclaredMethod("initializeBackendCatalog");
    open.setAccessible(true);
    Object context = open.invoke(new RESTCatalogServer());

    ServletContextHandler handler = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    RESTServerCatalogAdapter adapter =
        new RESTServerCatalogAdapter((RESTCatalogServer.CatalogContext) context);
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    CompressionHandler compression = new CompressionHandler();
    compression.putCompression(new GzipCompression());
    handler.insertHandler(compression);

    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(arguments[0]));
    server.addConnector(connector);
    server.setHandler(handler);
    server.start();
    server.join();
  }
}
