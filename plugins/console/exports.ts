// Slots for pages and cards of other plugins.
export * from './slots.ts'
