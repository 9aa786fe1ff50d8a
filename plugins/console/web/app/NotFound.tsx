import { PageHead } from '../parts/PageHead.tsx'
import { PageLink } from '../parts/PageLink.tsx'
import { text } from '../text/text.ts'

export const NotFound = () => (
  <>
    <PageHead title={text.notFound} />
    <PageLink to="/" size="md">
      {text.toOverview}
    </PageLink>
  </>
)
