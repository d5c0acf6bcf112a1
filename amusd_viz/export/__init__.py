"""A trace in other forms: a table, Perfetto's JSON, pictures, a page that plays by itself."""
