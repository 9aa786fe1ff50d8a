import { Alert, Stack, Text, Title } from '@mantine/core'
import { Fragment } from 'react'
import type { Reply } from '../../api/call.ts'
import { ago, count } from '../../format.ts'
import { Command } from '../../parts/Command.tsx'
import { Facts } from '../../parts/Facts.tsx'
import { PageLink } from '../../parts/page/PageLink.tsx'
import { Timestamp } from '../../parts/Timestamp.tsx'
import { text } from '../../text/text.ts'

type Shown = Reply<'GET /v1/settings/certificate'>

const soonMs = 60 * 86_400_000

export function Certificate({ certificate }: { readonly certificate: Shown }) {
  const { fingerprint, source, names, not_before, not_after } = certificate
  return (
    <Stack>
      {Date.parse(not_after) - Date.now() < soonMs && (
        <Alert color="orange" variant="default" role="alert">
          {text.settings.ends(ago(not_after))}
        </Alert>
      )}
      <Command value={fingerprint} />
      <Facts
        facts={[
          { name: text.settings.until, value: <Timestamp at={not_after} /> },
          { name: text.settings.from, value: <Timestamp at={not_before} /> },
          { name: text.settings.origin, value: text.settings.origins[source] },
          { name: text.settings.names, value: names.map(hostOf).join(', ') }
        ]}
      />
      <Rotation certificate={certificate} />
    </Stack>
  )
}

/** 'DNS:gate.example' is 'gate.example'; 'IP Address:0:0:0:0:0:0:0:1' is '::1'. */
function hostOf(name: string): string {
  const host = name.slice(name.indexOf(':') + 1)
  return /^IP Address:.*:/.test(name) ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host
}

const commands = ['sluice cert reissue --rotate --from FILE', null, 'sluice cert activate'] // of your own certificate

/** The commands that rotate the certificate, and the progress. */
function Rotation({ certificate }: { readonly certificate: Shown }) {
  return (
    <div>
      <Title order={3} size="h5" mb="xs">
        {text.settings.rotation}
      </Title>
      {certificate.next !== null && <Next next={certificate.next} certificate={certificate} />}
      <Text mb="xs">{text.settings.rotationText}</Text>
      {certificate.source === 'self-made' ? (
        <>
          <Text>{text.settings.rotate}</Text>
          <Command value="sluice cert rotate" />
        </>
      ) : (
        <ol>
          {text.settings.steps.map((step, i) => (
            <li key={step}>
              {step}
              {commands[i] && <Command value={commands[i]} />}
            </li>
          ))}
        </ol>
      )}
    </div>
  )
}

function Next({ next, certificate }: { readonly next: string; readonly certificate: Shown }) {
  const { waiting, waiting_for } = certificate
  return (
    <Facts
      facts={[
        { name: text.settings.nextIs, value: next },
        {
          name: waiting === 0 ? text.settings.ready : text.settings.waiting(count(waiting)),
          value: waiting_for.map(({ client_id, name }, i) => (
            <Fragment key={client_id}>
              {i > 0 && ', '}
              <PageLink to={`/clients/${client_id}`} size="md">
                {name}
              </PageLink>
            </Fragment>
          ))
        }
      ]}
    />
  )
}
