import { PageLink } from '../../parts/PageLink.tsx'

export const UserLink = ({ id }: { readonly id: string }) => <PageLink to={`/users/${id}`}>{id}</PageLink>
