export interface Product {
  id: string;
  name: string;
  cents: number;
}

/** Fetches the products of a category from the server. */
export async function fetchCatalog(category: string): Promise<Product[]> {
  const response = await fetch(`/api/catalog/${category}`);
  if (!response.ok) throw new Error(`catalog: ${response.status}`);
  return response.json();
}
