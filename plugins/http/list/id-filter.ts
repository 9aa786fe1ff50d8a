import { Type } from 'typebox'

/** The id of an object in a filter. Other text is refused, because it can match nothing. */
export const IdFilter = (description: string) =>
  Type.Refine(
    Type.String({ maxLength: 64, description, examples: ['01KCD3F0P7Q4Y6Z8V1T5S9R2NA'] }),
    text => /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/.test(text),
    text => `must be an id of 26 characters, as lists show it, got ${JSON.stringify(text)}`
  )

/** A user_id in a filter. Those of the server, such as _operator, begin with an underscore. */
export const UserFilter = (description: string) =>
  Type.Refine(
    Type.String({ maxLength: 64, description, examples: ['ann'] }),
    text => /^_?[a-z][a-z0-9_-]{0,31}$/.test(text),
    text => `must be a user_id, a letter and then a-z, 0-9, _ and -, got ${JSON.stringify(text)}`
  )
