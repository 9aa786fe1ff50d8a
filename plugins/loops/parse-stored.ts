/** Parses a list, a text or a truth value in a JSON column of SQLite. PostgreSQL returns it parsed. */
export const parseStored = <T>(value: string | T): T =>
  typeof value === 'string' && /^(?:["[]|true$|false$)/.test(value) ? JSON.parse(value) : (value as T)
