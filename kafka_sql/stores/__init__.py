"""Key and trust stores as Java has them: JKS, PKCS12 and PEM, told apart by their content."""
