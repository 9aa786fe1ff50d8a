import type { ExpirySource } from '../http/exports.ts'

interface Row {
  readonly id: string
  readonly name: string | null
  readonly owner: string
  readonly listenFrom: number
  readonly createdAt: number | string
  readonly expiresAt: number | string
}

const prefix = 'rule '

/** Returns the rules that end, for the notifications of their owners. */
export const ruleExpiry: ExpirySource = async ({ from, after, to, take }, em) => {
  const rows = await em.execute<Row[]>(
    `select rules.id, name, owner, listen_from as "listenFrom", created_at as "createdAt", expires_at as "expiresAt"
     from schedule join rules on rules.id = schedule.rule_id
     where ((expires_at = ? and rules.id > ?) or (expires_at > ? and expires_at <= ?)) and parent is null
     order by expires_at, rules.id limit ?`,
    [from, after.slice(prefix.length), from, to, take]
  )
  return rows.map(({ id, name, owner, listenFrom, createdAt, expiresAt }) => ({
    object: `${prefix}${id}`,
    name: `rule ${name ?? `on port ${listenFrom}`}`,
    owner,
    expiresAt: Number(expiresAt),
    setAt: Number(createdAt)
  }))
}
