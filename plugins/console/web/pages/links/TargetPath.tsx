import { PageLink } from '../../parts/page/PageLink.tsx'
import { StateLabel } from '../../parts/StateLabel.tsx'
import { text } from '../../text/text.ts'
import { useClientsById } from '../clients/queries.ts'
import { milliseconds, reasonOf, roundTripOf } from './link-columns.tsx'
import { hopKey, type Path } from './paths.ts'
import { useLinks } from './queries.ts'

interface Props {
  readonly entry: string | null // null: the clients of a group
  readonly path: Path
}

/** The clients on the way to a target, each with the state and the round trip of the link to it. */
export function TargetPath({ entry, path }: Props) {
  const clients = useClientsById()
  const { data: links = [] } = useLinks()
  const byHop = new Map(
    links.map(link => {
      const [near, far] = link.clients
      return [hopKey(near?.client_id ?? '', far?.client_id ?? ''), link]
    })
  )
  return (
    <ol className="path" aria-label={text.links.path}>
      {path.map((id, i) => {
        const near = path[i - 1] ?? entry
        const link = near === null ? undefined : byHop.get(hopKey(near, id))
        return (
          <li key={id}>
            <PageLink to={`/clients/${id}`}>{clients.get(id)?.client_name ?? id}</PageLink>
            {link && (
              <span>
                <StateLabel state={link.state} title={reasonOf(link)} />
                {roundTripOf(link) !== null && `, ${milliseconds(roundTripOf(link))}`}
              </span>
            )}
          </li>
        )
      })}
    </ol>
  )
}
