import { PageHead } from '../parts/page/PageHead.tsx'
import { PageLink } from '../parts/page/PageLink.tsx'
import { text } from '../text/text.ts'

export const NotFound = () => (
  <>
    <PageHead title={text.notFound} />
    <PageLink to="/" size="md">
      {text.toOverview}
    </PageLink>
  </>
)
