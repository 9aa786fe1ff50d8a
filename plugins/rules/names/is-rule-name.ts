export const maxName = 63

/** True for a DNS label in lower case. */
export const isRuleName = (text: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text)
