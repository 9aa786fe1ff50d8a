// Pages and cards that other plugins bring.
export * from './slots.ts'
