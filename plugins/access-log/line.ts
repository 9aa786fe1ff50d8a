// Formats lines. Values that a caller chooses come last, because config/fail2ban parses the beginning.
import { isIPv6 } from 'node:net'
import type { EndedConnection, SocketAddress } from '../../agent/engine/ended-connection.ts'
import type { RuleSpec } from '../../agent/plugin.ts'
import { timestamp } from '../../kernel/base/clock.ts'

export function formatLine(ended: EndedConnection, rule: RuleSpec | undefined, clientId: string): string {
  const { end, refusal, openedAt, durationMs, target } = ended
  return toLine({
    time: timestamp(openedAt + durationMs),
    event: end === 'refused' ? 'refused' : 'ended',
    reason: refusal ?? end,
    protocol: rule?.protocol ?? null,
    source: hostPort(ended.source),
    bytes_in: ended.bytesIn,
    listen: hostPort(ended.listen),
    target: target && hostPort(target),
    rule_id: rule?.id ?? null,
    owner: rule?.owner ?? null,
    client_id: clientId,
    opened_at: timestamp(openedAt),
    duration_ms: durationMs,
    bytes_out: ended.bytesOut,
    ...(ended.divert !== null && { divert: ended.divert }),
    server_name: ended.serverName
  })
}

/** Returns a line with the number of lines dropped before it. */
export const formatDropped = (nowMs: number, lines: number): string =>
  toLine({ time: timestamp(nowMs), event: 'dropped', lines })

const toLine = (value: object): string => `${JSON.stringify(value)}\n`

const hostPort = ({ address, port }: SocketAddress): string =>
  isIPv6(address) ? `[${address}]:${port}` : `${address}:${port}`
