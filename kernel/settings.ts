import { Type } from 'typebox'

/** 'host:port', '[::1]:0'. */
export const Listen = (fallback: string, what: string) =>
  Type.String({
    default: fallback,
    pattern: '^(\\[[0-9a-fA-F:.]+\\]|[^:\\s]+):[0-9]{1,5}$',
    description: what
  })

/** Keys of the server that belong to no feature. Plugins bring the others: see `keys` in plugin.ts. */
export const serverKeys = Type.Object({
  data_dir: Type.Optional(Type.String({ description: 'Where the store, keys and backups live.' })),
  operator_token: Type.Optional(
    Type.String({ minLength: 8, pattern: '^(?!svct_)', description: 'Machine credential; see gen-token.' })
  ),
  log_level: Type.Union(
    ['debug', 'info', 'warn', 'error'].map(level => Type.Literal(level)),
    { default: 'info', description: 'Least level that is written.' }
  ),
  log_format: Type.Union([Type.Literal('json'), Type.Literal('pretty')], {
    default: 'json',
    description: 'One JSON object a line, or the same for people.'
  }),
  store_url: Type.Optional(
    Type.String({ pattern: '^sqlite:', description: 'Only the embedded SQLite file for now.' })
  )
})
