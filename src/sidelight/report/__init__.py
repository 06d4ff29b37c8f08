"""What people see: tables, coloured text, figures."""
