"""Read Java key stores and trust stores: JKS, PKCS12 and PEM, detected by content."""
