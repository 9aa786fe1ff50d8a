import { Text } from '@mantine/core'
import { call } from '../../api/call.ts'
import { useRight } from '../../api/rights.ts'
import { ConfirmButton } from '../../parts/dialog/ConfirmButton.tsx'
import { DialogButton } from '../../parts/dialog/DialogButton.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { QuerySection } from '../../parts/page/QuerySection.tsx'
import { text } from '../../text/text.ts'
import { LinkTable } from '../links/LinkTable.tsx'
import { useLinks } from '../links/queries.ts'
import { EditEndpoint } from './EditEndpoint.tsx'
import type { Client } from './queries.ts'

interface Props {
  readonly client: Client
}

/** The endpoint of a client, its links, and the rotation of its key. */
export function ClientLinks({ client }: Props) {
  const links = useLinks()
  const seesAll = useRight('seesAll')
  const mayChange = useRight('managesAll')
  return (
    <QuerySection
      query={links}
      title={text.pages.links}
      actions={
        <>
          <PageLink to={`/links?client=${client.client_id}`}>{text.links.inList}</PageLink>
          {mayChange && client.state !== 'revoked' && <EndpointActions client={client} />}
        </>
      }
    >
      {all => (
        <>
          {seesAll && <Endpoint client={client} />}
          <LinkTable
            links={all.filter(({ clients }) => clients.some(({ client_id: id }) => id === client.client_id))}
            empty={text.links.none}
          />
        </>
      )}
    </QuerySection>
  )
}

function Endpoint({ client: { link } }: Props) {
  if (link === null)
    return (
      <Text size="sm" c="dimmed" mb="sm">
        {text.links.noEndpoint}
      </Text>
    )
  const { port, effective_hosts: hosts, guessed } = link
  const names = hosts.length === 0 ? text.links.unknownHost : hosts.join(', ')
  return (
    <div className="endpoint">
      <Facts
        facts={[
          { name: text.links.listens, value: text.links.portOf(String(port)) },
          { name: text.links.reached, value: guessed ? text.links.guessed(names) : names }
        ]}
      />
    </div>
  )
}

function EndpointActions({ client }: Props) {
  const { client_id, client_name: name, link, connected } = client
  const path = { client_id }
  return (
    <>
      <DialogButton label={link === null ? text.links.setEndpoint : text.links.changeEndpoint} size="xs">
        {close => <EditEndpoint client={client} onDone={close} />}
      </DialogButton>
      {link !== null && (
        <ConfirmButton
          button={{ size: 'xs' }}
          title={text.links.removeTitle(name)}
          action={text.links.removeEndpoint}
          run={() => call('PATCH /v1/clients/{client_id}', { path, body: { link: null } })}
          notice={text.links.endpointRemoved}
        >
          <Text>{text.links.removeText}</Text>
        </ConfirmButton>
      )}
      {connected && (
        <ConfirmButton
          button={{ size: 'xs', c: 'var(--mantine-color-default-color)' }}
          title={text.links.rotateTitle(name)}
          action={text.links.rotate}
          run={() => call('POST /v1/clients/{client_id}/link-key/rotate', { path })}
          notice={text.links.rotated}
        >
          <Text>{text.links.rotateText}</Text>
        </ConfirmButton>
      )}
    </>
  )
}
