import { useQuery } from '@tanstack/react-query'
import { version } from '../../../../../package.json'
import { call, rows } from '../../api/call.ts'
import { Facts } from '../../parts/Facts.tsx'
import { PageHead } from '../../parts/page/PageHead.tsx'
import { Section } from '../../parts/page/Section.tsx'
import { QueryResult } from '../../parts/QueryResult.tsx'
import { text } from '../../text/text.ts'
import { Certificate } from './Certificate.tsx'
import { Endpoint } from './Endpoint.tsx'
import { Servers } from './Servers.tsx'

export default function Settings() {
  const certificate = useQuery({
    queryKey: ['certificate'],
    queryFn: () => call('GET /v1/settings/certificate')
  })
  const servers = useQuery({ queryKey: ['servers'], queryFn: () => rows('GET /v1/servers') })
  return (
    <>
      <PageHead title={text.pages.settings} />
      <Section title={text.settings.endpoint} note={text.settings.endpointText}>
        <Endpoint />
      </Section>
      <Section title={text.settings.certificate} note={text.settings.certificateText}>
        <QueryResult query={certificate}>{found => <Certificate certificate={found} />}</QueryResult>
      </Section>
      <Section title={text.settings.servers} note={text.settings.serversText}>
        <QueryResult query={servers}>{found => <Servers servers={found} />}</QueryResult>
      </Section>
      <Section title={text.settings.version}>
        <Facts facts={[{ name: text.settings.pages, value: version }]} />
      </Section>
    </>
  )
}
