import { isId } from '../../kernel/platform/id.ts'

/** The last entry of a page. The next page continues with an older entry, or the same time and a lower id. */
export interface Position {
  readonly timestamp: number
  readonly id: string
}

/** Encodes 42 bytes, so that base64url needs no padding. */
export const formatCursor = ({ timestamp, id }: Position): string =>
  Buffer.from(`${String(timestamp).padStart(15, '0')} ${id}`).toString('base64url')

export function parseCursor(cursor: string): Position | null {
  const [, ms = '', id = ''] = /^(\d{15}) (.{26})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  const position = { timestamp: Number(ms), id }
  return isId(id) && formatCursor(position) === cursor ? position : null
}
