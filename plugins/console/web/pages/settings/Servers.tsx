import type { Row } from '../../api/call.ts'
import { count } from '../../format.ts'
import { PlainTable } from '../../parts/PlainTable.tsx'
import { When } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'

/** The servers of the store: at least the one that answers. */
export const Servers = ({ servers }: { readonly servers: readonly Row<'GET /v1/servers'>[] }) => (
  <PlainTable
    label={text.settings.servers}
    columns={[
      { title: text.settings.server },
      { title: text.settings.version },
      { title: text.settings.started },
      { title: text.settings.lastSeen },
      { title: text.settings.connected, numeric: true },
      { title: text.settings.alone }
    ]}
    rows={servers.map(({ server_id, version, started_at, last_seen_at, sessions, leader_of }) => ({
      key: `${server_id} ${started_at}`,
      cells: [
        server_id,
        version,
        <When key="started" at={started_at} />,
        <When key="seen" at={last_seen_at} form="ago" />,
        count(sessions),
        leader_of.join(', ') || '–'
      ]
    }))}
  />
)
