import { useQuery } from '@tanstack/react-query'
import { version } from '../../../../../package.json'
import { call } from '../../api/call.ts'
import { Fact, Facts } from '../../parts/Facts.tsx'
import { Head } from '../../parts/PageHead.tsx'
import { Loaded } from '../../parts/QueryResult.tsx'
import { Section } from '../../parts/Section.tsx'
import { text } from '../../text/text.ts'
import { Certificate } from './Certificate.tsx'
import { Endpoint } from './Endpoint.tsx'
import { Servers } from './Servers.tsx'

export default function Settings() {
  const certificate = useQuery({
    queryKey: ['certificate'],
    queryFn: () => call('GET /v1/settings/certificate')
  })
  const servers = useQuery({ queryKey: ['servers'], queryFn: () => call('GET /v1/servers') })
  return (
    <>
      <Head title={text.pages.settings} />
      <Section title={text.settings.endpoint} note={text.settings.endpointText}>
        <Endpoint />
      </Section>
      <Section title={text.settings.certificate} note={text.settings.certificateText}>
        <Loaded query={certificate}>{found => <Certificate certificate={found} />}</Loaded>
      </Section>
      <Section title={text.settings.servers} note={text.settings.serversText}>
        <Loaded query={servers}>{found => <Servers servers={found} />}</Loaded>
      </Section>
      <Section title={text.settings.version}>
        <Facts>
          <Fact name={text.settings.pages}>{version}</Fact>
        </Facts>
      </Section>
    </>
  )
}
