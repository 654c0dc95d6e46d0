/** Prints cents as a price with a currency sign: 1999 becomes "€19.99". */
export function formatPrice(cents: number, sign = "€"): string {
  const whole = Math.trunc(cents / 100);
  return `${sign}${whole}.${String(cents % 100).padStart(2, "0")}`;
}

/** Reads a price that a person typed; NaN when it is none. */
export function parsePrice(text: string): number {
  return Math.round(parseFloat(text.replace(/[^0-9.]/g, "")) * 100);
}
