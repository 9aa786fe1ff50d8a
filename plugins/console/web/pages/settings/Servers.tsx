import type { Row } from '../../api/call.ts'
import { count } from '../../format.ts'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'

/** All servers of the store, including this one. */
export const Servers = ({ servers }: { readonly servers: readonly Row<'GET /v1/servers'>[] }) => (
  <PlainTable
    label={text.settings.servers}
    columns={[
      { title: text.settings.server },
      { title: text.settings.version },
      { title: text.settings.started },
      { title: text.settings.lastSeen },
      { title: text.settings.connected, numeric: true },
      { title: text.settings.leaderOf }
    ]}
    rows={servers.map(({ server_id, version, started_at, last_seen_at, sessions, leader_of }) => ({
      key: `${server_id} ${started_at}`,
      cells: [
        server_id,
        version,
        <Timestamp key="started" at={started_at} />,
        <Timestamp key="seen" at={last_seen_at} format="ago" />,
        count(sessions),
        leader_of.join(', ') || '–'
      ]
    }))}
  />
)
