import { monotonicFactory } from 'ulid'

/** Upper-case ULIDs, ascending also within one millisecond. */
export const newId = monotonicFactory()

export const isId = (text: string): boolean => /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text)
