import { Cart } from "./cart";

test("adds the same product once", () => {
  const cart = new Cart();
  const tea = { id: "tea", name: "Tea", cents: 450 };
  cart.add(tea);
  cart.add(tea, 2);
  expect(cart.total()).toBe(1350);
});
