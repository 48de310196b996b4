"""URLs of accounts, used if accounts are enabled: a selection of allauth's URLs under its names, and our own."""

from allauth.account import views as allauth
from allauth.socialaccount import views as external
from allauth.socialaccount.providers.openid_connect import views as openid_connect
from django.urls import path

from kubesched_ui.views import account, sharing, user_groups

urlpatterns = [
    path("account/login/", allauth.login, name="account_login"),
    path("account/logout/", allauth.logout, name="account_logout"),
    path("account/signup/", allauth.signup, name="account_signup"),
    path("account/inactive/", allauth.account_inactive, name="account_inactive"),
    path("account/password/", allauth.password_change, name="account_change_password"),
    path("account/password/set/", allauth.password_set, name="account_set_password"),
    path("account/oidc/cancelled/", external.login_cancelled, name="socialaccount_login_cancelled"),
    path("account/oidc/error/", external.login_error, name="socialaccount_login_error"),
    path("account/oidc/signup/", external.signup, name="socialaccount_signup"),
    path("account/<str:provider_id>/login/", openid_connect.login, name="openid_connect_login"),
    path("account/<str:provider_id>/login/callback/", openid_connect.callback, name="openid_connect_callback"),
    path("account/", account.account, name="account"),
    path("account/name/", account.rename, name="account-rename"),
    path("account/tokens/", account.make_token, name="token-make"),
    path("account/tokens/<int:number>/revoke/", account.drop_token, name="token-revoke"),
    path("account/sign-out-everywhere/", account.sign_out_everywhere, name="sign-out-everywhere"),
    path("account/log/", account.log, name="audit"),
    path("account/invitations/", account.invited, name="invitations"),
    path("account/invitations/make/", account.invite, name="invite"),
    path("account/invitations/<int:number>/revoke/", account.uninvite, name="uninvite"),
    path("account/invitation/<str:token>/", account.invitation, name="invitation"),
    path("account/groups/", user_groups.groups, name="people"),
    path("account/groups/<int:number>/", user_groups.group, name="group-of-people"),
    path("account/groups/<int:number>/add/", user_groups.add, name="group-add"),
    path("account/groups/<int:number>/invite/", user_groups.invite, name="group-invite"),
    path("account/groups/<int:number>/remove/<int:user_id>/", user_groups.remove, name="group-remove"),
    path("account/groups/<int:number>/delete/", user_groups.delete, name="group-delete"),
    path("shared/<str:token>/", sharing.shared, name="shared"),
    path("scenarios/<int:scenario_id>/shares/", sharing.shares, name="scenario-shares"),
    path("scenarios/<int:scenario_id>/shares/<int:number>/revoke/", sharing.revoke, name="scenario-unshare"),
    path("runs/<int:run_id>/shares/", sharing.shares, name="run-shares"),
    path("runs/<int:run_id>/shares/<int:number>/revoke/", sharing.revoke, name="run-unshare"),
]
