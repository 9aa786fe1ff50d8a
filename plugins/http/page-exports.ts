// Exports for pages in a browser. They load no code of the server or of commands.
export { exactQuantity, parseQuantity, type Unit } from './list/quantity.ts'
