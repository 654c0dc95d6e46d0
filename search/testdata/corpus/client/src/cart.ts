import { formatPrice } from "./money";
import type { Product } from "./catalog";

/** One line of the shopping cart. */
export interface CartLine {
  product: Product;
  quantity: number;
}

/** The shopping cart of one visitor. */
export class Cart {
  private lines: CartLine[] = [];

  /** Adds a product, or more of it. */
  add(product: Product, quantity = 1): void {
    const line = this.lines.find((l) => l.product.id === product.id);
    if (line) line.quantity += quantity;
    else this.lines.push({ product, quantity });
  }

  /** The sum of all lines in cents, discounts taken off. */
  total(discount = 0): number {
    const sum = this.lines.reduce((s, l) => s + l.product.cents * l.quantity, 0);
    return Math.round(sum * (1 - discount));
  }

  describe(): string {
    return `${this.lines.length} products, ${formatPrice(this.total())}`;
  }
}
