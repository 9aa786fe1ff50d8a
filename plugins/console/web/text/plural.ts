/** '1 rule', '12 rules'. `n` is a formatted number. */
export const plural = (n: string, one: string, many: string): string => `${n} ${n === '1' ? one : many}`
